// Package admission is what the API server may hold the bot to: for each field that a knob writes, the conditions in
// CEL under which a change of its object is the bot's own, and the policies made of them. It asks nobody.
package admission
