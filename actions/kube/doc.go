// Package kube is how the bot reaches the Kubernetes API to act: a Reader that cannot write, and Writers that can do
// nothing but patch. What a connection may send is a property of its transport, not of the code that uses it.
package kube
