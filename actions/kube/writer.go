package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Writer sends patches: real ones, or dry runs.
type Writer struct {
	client dynamic.Interface
	dryRun bool
}

// Place is where a field is written: an object, or a subresource of it.
type Place struct {
	Resource                     schema.GroupVersionResource
	Subresource, Namespace, Name string
}

// Right is what a request for the place needs.
func (p Place) Right(verb string) Right {
	return Right{
		Verb: verb, Group: p.Resource.Group, Resource: p.Resource.Resource, Subresource: p.Subresource,
		Namespace: p.Namespace, Name: p.Name,
	}
}

// DryRun says that nothing that the Writer sends is kept.
func (w Writer) DryRun() bool { return w.dryRun }

// Patch sends one JSON Patch, once, and returns the object that the API server answers with.
func (w Writer) Patch(ctx context.Context, at Place, patch []byte) (*unstructured.Unstructured, error) {
	opts := metav1.PatchOptions{
		FieldManager: incident.FieldManager, FieldValidation: metav1.FieldValidationStrict,
	}
	if w.dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	var sub []string
	if at.Subresource != "" {
		sub = []string{at.Subresource}
	}
	return w.client.Resource(at.Resource).Namespace(at.Namespace).Patch(ctx, at.Name, types.JSONPatchType, patch, opts,
		sub...)
}
