// Package throttle is the knob that limits the requests that a gateway lets through to a pool. Each gateway has a file.
package throttle
