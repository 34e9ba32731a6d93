// Package trial plays scripts, in which a fleet is loaded or broken, under different hands, and measures what the
// clients and the GPUs had of it. README.md of the package above describes the measures and lists the scripts.
//
// It promises that the same script, seed and hand give the same measure, and that hands see only what somebody outside
// sees: scrapes and the number of replicas, never the model's inside.
package trial
