// Package docs holds the documents against the program: every command in them is run by a test, every relative link
// leads somewhere.
package docs
