package store

// InTx is for tests that need a transaction that lasts.
var InTx = (*Store).inTx
