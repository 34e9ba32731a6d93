// Package promembed is a Prometheus inside the process: the engine of Prometheus over samples that the program puts in
// or has scraped, asked over Prometheus' HTTP API without a network.
//
// It promises what the real one promises to whoever asks: the same evaluation, lookback, staleness markers and counter
// resets, the same JSON, the same errors and warnings; and of alert rules the same alerts at the same times. It has no
// clock and no loops: whoever uses it hands in each page of a target and asks for each evaluation of the rules.
//
// Everything is in memory until Close, or for a retention. Of Prometheus it uses the engine, the parsers of pages,
// rules and templates, the interfaces of the storage and the encoding of its chunks. It doesn't use the packages tsdb,
// scrape and rules: each of them brings Prometheus' whole configuration, and with it the clients of three clouds, into
// a program that may write to a cluster.
package promembed
