// Package chart renders the Helm chart with Helm itself, gives the output to a real API server, and runs the bot as the
// rendered pod would: with its command, its configuration, its service account and its permissions.
package chart
