// Package bundle packs what people send when they ask for help, without secrets: those that are known are hidden
// wherever they stand, and what looks like one is, too. It rather leaves out too much.
package bundle
