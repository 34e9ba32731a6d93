// Package pages holds what different servers answer to GET /metrics, and tests that each page is read as its own
// generation and spelling of vLLM's names. README.md says which version each page stands for and what it was compared
// with.
package pages
