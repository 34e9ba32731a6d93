// Package promembed is a Prometheus inside the process: the engine of Prometheus over samples that the program puts in,
// asked over Prometheus' HTTP API without a network.
//
// It promises what the real one promises to whoever asks: the same evaluation, lookback, staleness markers and counter
// resets, the same JSON, the same errors and warnings. It scrapes nothing, evaluates no rules and keeps everything in
// memory until Close. Of Prometheus' own storage it uses the interfaces and iterators and not the package tsdb, which
// would put the clients of three clouds into the program.
package promembed
