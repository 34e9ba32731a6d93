package kubeapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// LogRequest names the log of a container.
type LogRequest struct {
	Namespace, Pod, Container string
	// Previous asks for the log of the run before.
	Previous bool
}

// serveLog answers with the log of a container, as far as the request wants it.
func (s *Server) serveLog(a answer, r *http.Request, p place) error {
	var opts corev1.PodLogOptions
	if err := readLogOptions(values(r), &opts); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	o, err := s.get(p.kind, p.namespace, p.name)
	if err != nil {
		return err
	}
	typed, err := p.kind.intoTyped(o)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	pod, ok := typed.(*corev1.Pod)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("%s is no pod", p.name))
	}
	container, err := containerOf(pod, opts.Container)
	if err != nil {
		return err
	}
	want := LogRequest{Namespace: p.namespace, Pod: p.name, Container: container, Previous: opts.Previous}
	text, err := s.logOf(want)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	a.Header().Set("Content-Type", "text/plain")
	_, _ = a.Write([]byte(lastOf(text, &opts))) // a client that has gone needs no answer
	return nil
}

func (s *Server) logOf(want LogRequest) (string, error) {
	if s.opts.Logs == nil {
		return "", errors.New("this cluster keeps no logs")
	}
	return s.opts.Logs(want)
}

// readLogOptions reads those parameters that narrow down which log, and how much of it.
func readLogOptions(q *url.Values, into *corev1.PodLogOptions) (err error) {
	into.Container = q.Get("container")
	if q.Has("previous") {
		if into.Previous, err = strconv.ParseBool(q.Get("previous")); err != nil {
			return fmt.Errorf("previous: %w", err)
		}
	}
	for name, at := range map[string]**int64{"tailLines": &into.TailLines, "limitBytes": &into.LimitBytes} {
		if !q.Has(name) {
			continue
		}
		n, err := strconv.ParseInt(q.Get(name), 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%s is %q: want a number that is not negative", name, q.Get(name))
		}
		*at = &n
	}
	return nil
}

// containerOf is the container whose log is asked for; of several it has to be named.
func containerOf(pod *corev1.Pod, name string) (string, error) {
	var names []string
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
		if c.Name == name {
			return name, nil
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if c.Name == name {
			return name, nil
		}
	}
	switch {
	case name != "":
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	case len(names) > 1:
		return "", apierrors.NewBadRequest(fmt.Sprintf(
			"a container name must be specified for pod %s, choose one of: [%s]", pod.Name, strings.Join(names, " ")))
	}
	return names[0], nil
}

// lastOf keeps the last lines, and of these the first bytes, as a kubelet does.
func lastOf(text string, opts *corev1.PodLogOptions) string {
	if n := opts.TailLines; n != nil {
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		text = strings.Join(lines[max(0, int64(len(lines))-*n):], "")
	}
	if n := opts.LimitBytes; n != nil && *n < int64(len(text)) {
		text = text[:*n]
	}
	return text
}
