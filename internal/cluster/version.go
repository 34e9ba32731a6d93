package cluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// maxStrangers bounds how many pods are read by name.
const maxStrangers = 16

// Versions reads which version of vLLM pods run, by their names, from the tags of their images. Pods that are not there
// any more, and those whose image does not tell, are left out. More pods than can be read one by one are an error, and
// so is what Kubernetes did not answer.
func (k *Reader) Versions(ctx context.Context, namespace string, pods []string) (map[string]string, error) {
	if len(pods) > maxStrangers {
		return nil, fmt.Errorf("%d pods of %s are not the workload's, and at most %d are read", len(pods), namespace,
			maxStrangers)
	}
	out := map[string]string{}
	var errs []error
	for _, name := range pods {
		if !CanNamePod(namespace, name) {
			continue
		}
		pod, err := k.typed.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			errs = append(errs, readError(err, "get", corev1.Resource("pods"), namespace))
		default:
			if v := versionOf(pod, ""); v != "" {
				out[name] = v
			}
		}
	}
	return out, errors.Join(errs...)
}

// versionOf is the version of vLLM in a pod; empty where its image does not tell, or its engines have several.
func versionOf(pod *corev1.Pod, container string) string {
	engines := engineNames(pod, container)
	version := ""
	for _, c := range pod.Spec.Containers {
		if !slices.Contains(engines, c.Name) {
			continue
		}
		v := imageVersion(c.Image)
		if v == "" || version != "" && v != version {
			return ""
		}
		version = v
	}
	return version
}

// imageVersion is the tag of an image that is named by a version: "0.24.0" of vllm/vllm-openai:v0.24.0. Other tags are
// moved ("latest"), or name something else than vLLM's version, and a digest says nothing about it: empty.
func imageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if !regexp.MustCompile(`^v?[0-9]+\.[0-9]+(\.[0-9]+)?([.+_-][0-9A-Za-z.+_-]+)?$`).MatchString(tag) {
		return ""
	}
	return redact.Shown(strings.TrimPrefix(tag, "v"))
}
