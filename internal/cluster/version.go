package cluster

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

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
