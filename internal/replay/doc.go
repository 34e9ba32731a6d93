// Package replay shows the evidence of past incidents to other playbooks and says what would differ.
//
// It is pure: it asks nobody and writes nothing. What the evidence does not hold is undecided, never zero and never no.
package replay
