// Package slacksdk runs Slack's own SDKs for Node against test/fakeslack: @slack/web-api makes the calls that the bot
// makes and decodes the answers, @slack/bolt takes the clicks that the double sends and verifies their signature. Where
// the double were wrong about Slack, they would not understand it.
//
// scripts/tools.sh installs the SDKs as package-lock.json pins them, outside of this folder.
package slacksdk
