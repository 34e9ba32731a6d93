package vllm

import (
	"regexp"
	"testing"
)

func TestMarksTellVersionsApart(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`^[0-9]+(\.[0-9]+)+$`)
	for _, m := range Marks() {
		if (m.Since == "") == (m.Removed == "") || !version.MatchString(m.Since+m.Removed) {
			t.Errorf("%+v has not one version", m)
		}
	}
	seen := func(there ...string) (r VersionRange) {
		for _, m := range Marks() {
			is := false
			for _, name := range there {
				is = is || name == m.Name
			}
			r = r.Narrow(m, is)
		}
		return r
	}
	v0 := seen("gpu_cache_usage_perc", "time_per_output_token_seconds")
	middle := seen("gpu_cache_usage_perc", "kv_cache_usage_perc", "time_per_output_token_seconds")
	today := seen("kv_cache_usage_perc", "inter_token_latency_seconds", "request_time_per_output_token_seconds",
		"engine_sleep_state", "request_prefill_kv_computed_tokens", "num_requests_waiting_by_reason")
	for _, tt := range []struct {
		got  VersionRange
		want string
	}{
		{v0, "before 0.9.2"},
		{middle, "0.9.2 or later, before 0.10.2"},
		{today, "0.20 or later"},
		{VersionRange{}, ""},
	} {
		if tt.got.String() != tt.want || tt.got.Empty() {
			t.Errorf("got %q, empty: %v; want %q", tt.got, tt.got.Empty(), tt.want)
		}
	}
	if !v0.Apart(middle) || !today.Apart(middle) || today.Apart(today) || today.Apart(VersionRange{From: "0.14"}) {
		t.Error("ranges are apart when no version is in both, and only then")
	}
	if impossible := seen("num_requests_waiting_by_reason"); !impossible.Empty() {
		t.Errorf("a metric of 0.20 without the cache's usage is no version: %s", impossible)
	}
	if CompareVersions("0.9.2", "0.10") >= 0 || CompareVersions("0.20", "0.20.0") != 0 {
		t.Error("versions are compared by their numbers")
	}
}
