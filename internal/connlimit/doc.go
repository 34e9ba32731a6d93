// Package connlimit bounds the connections of a listener. A new one is always taken: when there are too many, one that
// has shown no good credentials is closed for it, of the address that holds most of them. A connection in the middle of
// a request with good credentials is never closed.
//
// So connections that do nothing, that send slowly or that send garbage, as many as there are, use a bounded amount of
// memory and keep nobody out.
package connlimit
