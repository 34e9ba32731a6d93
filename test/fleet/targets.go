package fleet

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"
)

// TargetGroup is one scrape target as Prometheus' file_sd_configs reads it. The labels are those that a PodMonitor
// gives.
type TargetGroup struct {
	Targets []string          `json:"targets" yaml:"targets"`
	Labels  map[string]string `json:"labels" yaml:"labels"`
}

// Targets are the scrape targets of the replicas that there are now, served at address ("127.0.0.1:1234"). The gateway
// is not among them.
func (f *Fleet) Targets(address string) []TargetGroup {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.targets(address)
}

// GatewayTarget is the scrape target of the gateway, served at address.
func (f *Fleet) GatewayTarget(address string) TargetGroup {
	return TargetGroup{Targets: []string{address}, Labels: map[string]string{
		"job": "envoy", "namespace": "envoy-gateway-system", "pod": "envoy-0", "instance": "10.244.255.1:19001",
		"__metrics_path__": gatewayPath,
	}}
}

func (f *Fleet) targets(address string) []TargetGroup {
	out := []TargetGroup{}
	for _, r := range f.replicas {
		labels := f.targetLabels(r)
		labels["__metrics_path__"] = "/pod/" + url.PathEscape(r.pod.Name) + "/metrics"
		out = append(out, TargetGroup{Targets: []string{address}, Labels: labels})
	}
	return out
}

// targetLabels are what Prometheus adds to the series of a replica.
func (f *Fleet) targetLabels(r *replica) map[string]string {
	return map[string]string{
		"job": f.opts.Job, "namespace": f.opts.Namespace, "pod": r.pod.Name, "instance": r.pod.IP + ":8000",
	}
}

// ScrapeConfig is the scrape_configs section of a Prometheus configuration for the replicas that there are now.
func (f *Fleet) ScrapeConfig(address string) ([]byte, error) {
	type scrape struct {
		JobName        string        `yaml:"job_name"`
		ScrapeInterval string        `yaml:"scrape_interval"`
		StaticConfigs  []TargetGroup `yaml:"static_configs"`
	}
	out, err := yaml.Marshal(map[string][]scrape{
		"scrape_configs": {{JobName: f.opts.Job, ScrapeInterval: "1s", StaticConfigs: f.Targets(address)}},
	})
	if err != nil {
		return nil, fmt.Errorf("write the scrape configuration: %w", err)
	}
	return out, nil
}

// SetAddress says at which host and port the metrics are served. From then on Options.TargetsFile is kept.
func (f *Fleet) SetAddress(address string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.address = address
	f.writeTargets()
	return f.targetsErr
}

// writeTargets replaces the targets file in one move, so that Prometheus never reads half of it. State shows an error.
func (f *Fleet) writeTargets() {
	if f.opts.TargetsFile == "" || f.address == "" {
		return
	}
	f.targetsErr = replaceFile(f.opts.TargetsFile, f.targets(f.address))
}

func replaceFile(path string, content any) error {
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".targets-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when the move worked
	_, err = tmp.Write(append(data, '\n'))
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(tmp.Name(), 0o644) //nolint:gosec // Prometheus reads it as another user
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
