//go:build !race

package e2e

// raceDetector says that the bot is built without it, because the tests are.
const raceDetector = false
