// Package rights applies the manifests of deploy/kubernetes to a real API server and looks whether the bot can do with
// them what it must, and no more.
package rights
