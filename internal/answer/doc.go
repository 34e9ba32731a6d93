// Package answer bounds what is read of the answers of Prometheus and Kubernetes, so that nobody who may write there
// can fill the memory of whoever reads them.
//
// Bytes are counted as they are handed over, after decompression. An answer beyond its bound is TooLargeError, never a
// part of the answer and never an empty one. What an answer means is not known here.
package answer
