// Package kubetest starts a real Kubernetes API server on a real etcd for tests, and on request the controller-manager
// and kwok, whose pods become ready without a container, or a node that answers for logs. The processes listen on this
// machine's loopback only, keep everything in a folder of their own, and end with the tests.
package kubetest
