package cluster

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/vllm-medic/vllm-medic/internal/answer"
)

// listPage is how many objects of a list are asked for at one time: a cluster may have tens of thousands.
const listPage = 500

// installed lists the objects of a custom kind. A cluster without the kind has none.
func (k *Reader) installed(ctx context.Context, version, kind, namespace string) ([]unstructured.Unstructured, error) {
	m, err := k.kinds.mapping(version, kind)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, mapError(err, version, kind)
	}
	return listAll(ctx, k.dynamic.Resource(m.Resource), m.Resource.GroupResource(), namespace)
}

// listAll lists the objects of a namespace, or of all where it is empty, page by page. That they are more than is read
// is an error.
func listAll(
	ctx context.Context, r dynamic.NamespaceableResourceInterface, gr schema.GroupResource, namespace string,
) ([]unstructured.Unstructured, error) {
	var out []unstructured.Unstructured
	err := answer.Pages(ctx, func(ctx context.Context, from string) (string, error) {
		list, err := r.Namespace(namespace).List(ctx, metav1.ListOptions{Limit: listPage, Continue: from})
		if err != nil {
			return "", readError(err, "list", gr, namespace)
		}
		out = append(out, list.Items...)
		return list.GetContinue(), nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
