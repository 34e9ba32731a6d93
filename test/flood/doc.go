// Package flood opens connections to a bot in its own process, as many as an attacker would, and measures the memory of
// that process. What it measures is nobody else's, so it has no other tests.
package flood
