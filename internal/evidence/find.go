package evidence

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// podName is a pod as labels name it.
type podName struct{ namespace, name string }

func (p podName) String() string { return p.namespace + "/" + p.name }

func podIn(get func(string) string) (podName, bool) {
	for _, pair := range incident.PodLabels() {
		if p := (podName{get(pair[0]), get(pair[1])}); p.namespace != "" && p.name != "" {
			return p, true
		}
	}
	return podName{}, false
}

// FindWorkload follows the labels of an alert to the workload at the top of a pod's owners. An error that is
// incident.ErrNoWorkload is an answer (nothing there, or, with cluster.ErrAmbiguous, more
// than one). incident.ErrUnanswered says that nobody answered, so that it is worth asking again; any other error is an
// answer about this one alert: what it leads to may not be read.
func (c *Collector) FindWorkload(
	ctx context.Context,
	alert map[string]string,
) (incident.WorkloadRef, incident.Trail, error) {
	chain, trail, err := c.FindOwners(ctx, alert)
	if err != nil {
		return incident.WorkloadRef{}, incident.Trail{}, err
	}
	return chain[len(chain)-1], trail, nil
}

// FindOwners is FindWorkload with the whole chain: the pod's nearest owner first, the top one last; never empty without
// an error. A pool may name any of them. The owners that could be read come with the error too: a pool that names one
// of them is found although those above it are not known, which *cluster.UnfollowedError says.
func (c *Collector) FindOwners(
	ctx context.Context,
	alert map[string]string,
) ([]incident.WorkloadRef, incident.Trail, error) {
	if c.kube == nil {
		return nil, incident.Trail{}, fmt.Errorf(
			"%w: no Kubernetes is configured, so labels cannot be followed to a workload",
			incident.ErrNoWorkload,
		)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Deadline, &deadlineError{limit: c.cfg.Deadline})
	defer cancel()
	pod, trail, err := c.findPod(ctx, alert)
	if err != nil {
		return nil, incident.Trail{}, err
	}
	trail.Pod = pod.String()
	chain, err := c.kube.Owners(ctx, pod.namespace, pod.name)
	if len(chain) == 0 && err == nil {
		err = fmt.Errorf("%w: pod %s has no owners", incident.ErrNoWorkload, pod)
	}
	if len(chain) == 0 {
		return nil, incident.Trail{}, err
	}
	return chain, trail, err
}

func (c *Collector) findPod(ctx context.Context, alert map[string]string) (podName, incident.Trail, error) {
	var none incident.Trail
	if p, ok := podIn(func(l string) string { return alert[l] }); ok {
		if !cluster.CanNamePod(p.namespace, p.name) {
			return podName{}, none, fmt.Errorf(
				"%w: the alert names pod %q in namespace %q, which no pod can be called",
				incident.ErrNoWorkload,
				redact.Line(p.name),
				redact.Line(p.namespace),
			)
		}
		return p, incident.Trail{Kind: incident.TrailLabels}, nil
	}
	instance := alert[model.InstanceLabel]
	if instance == "" {
		return podName{}, none, fmt.Errorf(
			"%w: the alert has no labels that lead to a pod (namespace and pod, or instance)",
			incident.ErrNoWorkload,
		)
	}
	p, found, askErr := c.podOfInstance(ctx, instance, alert)
	if askErr != nil && errors.Is(askErr, incident.ErrNoWorkload) {
		return podName{}, none, askErr
	}
	if found {
		return p, incident.Trail{Kind: incident.TrailScrape, Instance: instance}, nil
	}
	p, err := c.podOfAddress(ctx, instance, alert["namespace"])
	switch {
	case err == nil:
		return p, incident.Trail{Kind: incident.TrailAddress, Instance: instance}, nil
	case askErr != nil && (errors.Is(err, incident.ErrNoWorkload) || errors.Is(askErr, incident.ErrUnanswered)):
		return podName{}, none, askErr // Prometheus might have known
	}
	return podName{}, none, err
}

// podOfInstance asks Prometheus which pod it scrapes under this instance. Labels of the alert that scrapes have too
// narrow the question.
func (c *Collector) podOfInstance(
	ctx context.Context,
	instance string,
	alert map[string]string,
) (podName, bool, error) {
	matchers := map[string]string{model.InstanceLabel: instance}
	for _, label := range []string{"namespace", model.JobLabel} {
		if v := alert[label]; v != "" {
			matchers[label] = v
		}
	}
	if err := promql.CheckMatchers(matchers); err != nil {
		return podName{}, false, fmt.Errorf("%w: %w", incident.ErrNoWorkload, err)
	}
	query, err := targetQuery(matchers)
	if err != nil {
		return podName{}, false, err
	}
	got, err := c.prom.Instant(ctx, query, c.Now())
	if err != nil {
		return podName{}, false, prometheus.Unanswered(fmt.Errorf("ask which pod %s is: %w", redact.Line(instance), err))
	}
	vector, ok := got.Value.(model.Vector)
	if !ok {
		return podName{}, false, fmt.Errorf("ask which pod %s is: the answer is not a list of series", redact.Line(instance))
	}
	var pods []podName
	for _, s := range vector {
		p, ok := podIn(func(l string) string { return string(s.Metric[model.LabelName(l)]) })
		if ok && !slices.Contains(pods, p) {
			pods = append(pods, p)
		}
	}
	return onlyPod(pods, "Prometheus scrapes "+redact.Line(instance)+" from")
}

// targetQuery asks by up, which every scrape has, and by a metric of vLLM, for the systems that have no up.
func targetQuery(matchers map[string]string) (string, error) {
	var by []string
	for _, pair := range incident.PodLabels() {
		by = append(by, pair[0], pair[1])
	}
	eq := equals(matchers)
	up, err := selector("", append([]*labels.Matcher{equal(model.MetricNameLabel, "up")}, eq...)...)
	if err != nil {
		return "", err
	}
	vllm, err := selector("(kserve_)?(ray_)?vllm[:_]num_requests_running", eq...)
	if err != nil {
		return "", err
	}
	group := "group by (" + strings.Join(by, ", ") + ") "
	return group + "(" + up + ") or " + group + "(" + vllm + ")", nil
}

// podOfAddress asks Kubernetes which pod has the address. A pod that declares ports, but not this one, is not it.
func (c *Collector) podOfAddress(ctx context.Context, instance, namespace string) (podName, error) {
	host, port, err := net.SplitHostPort(instance)
	if err != nil {
		host, port = instance, ""
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return podName{}, fmt.Errorf(
			"%w: Prometheus knows no pod for instance %s, and it is not an IP address",
			incident.ErrNoWorkload,
			redact.Line(instance),
		)
	}
	found, err := c.kube.PodsAt(ctx, namespace, ip.String())
	if err != nil {
		return podName{}, err
	}
	var pods []podName
	for _, a := range found {
		if declares(a.Ports, port) {
			pods = append(pods, podName{a.Namespace, a.Name})
		}
	}
	p, ok, err := onlyPod(pods, redact.Line(instance)+" is the address of")
	if err == nil && !ok {
		err = fmt.Errorf(
			"%w: Prometheus knows no pod for instance %s, and no pod has that address",
			incident.ErrNoWorkload,
			redact.Line(instance),
		)
	}
	return p, err
}

func declares(ports []int32, port string) bool {
	n, err := strconv.ParseInt(port, 10, 32)
	return len(ports) == 0 || err != nil || slices.Contains(ports, int32(n))
}

func onlyPod(pods []podName, what string) (podName, bool, error) {
	switch len(pods) {
	case 0:
		return podName{}, false, nil
	case 1:
		return pods[0], true, nil
	}
	names := make([]string, 0, len(pods))
	for _, p := range pods {
		names = append(names, p.String())
	}
	slices.Sort(names)
	if len(names) > 5 {
		names = append(names[:5], fmt.Sprintf("and %d more", len(names)-5))
	}
	return podName{}, false, fmt.Errorf(
		"%w: %w: %s pods %s",
		incident.ErrNoWorkload,
		cluster.ErrAmbiguous,
		what,
		strings.Join(names, ", "),
	)
}
