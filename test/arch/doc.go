// Package arch holds the rules of the house that tests can check: who imports whom, which packages are pure, that every
// package says what it promises. The source is parsed in process, so that the test cache sees every file.
package arch
