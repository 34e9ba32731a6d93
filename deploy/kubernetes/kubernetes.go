// Package kubernetes holds the manifests that are shipped, for programs of ours that load them.
package kubernetes

import _ "embed"

// RBAC is what the bot may do in a cluster, as objects of rbac.authorization.k8s.io in YAML.
//
//go:embed rbac.yaml
var RBAC []byte
