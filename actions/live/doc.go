// Package live is the one field of one live object that a knob adjusts: its value as it was just read, who else
// writes it, the limits of a step, and the patch that changes it. The knobs build on it; it asks nothing and writes
// nothing.
package live
