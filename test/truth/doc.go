// Package truth holds what people read against itself, against what they read before, and against the incident that it
// is about. It knows the words and not how they are made: it reads the text of a message, of its notification, of a
// page or of a terminal as a person does, and says which sentences can't all be true. docs/truth.md has the rules.
package truth
