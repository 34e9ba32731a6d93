package rights

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/leaves"
)

// named gives each element a name after the member that it has for itself.
func named(list []any, suffix string) []any {
	for _, e := range list {
		one := e.(map[string]any) //nolint:forcetypeassert // they are objects
		for k := range one {
			if k != "name" {
				one["name"] = strings.ToLower(k) + suffix
			}
		}
	}
	return list
}

func fillPod(t *testing.T, pod map[string]any) {
	t.Helper()
	set := func(path string, value any) { put(t, pod, path, value) }
	expressions := func(at string) { set(at+".matchExpressions[].operator", "In") }
	for path, value := range map[string]any{
		"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "preemptionPolicy": "Never",
		"dnsConfig.nameservers": []any{"10.0.0.10"}, "hostAliases[].ip": "10.0.0.1",
		"hostname": "x", "subdomain": "sub", "overhead": map[string]any{"cpu": "1"},
		"resources.limits": map[string]any{"cpu": "64"}, "resources.requests": map[string]any{"cpu": "32"},
		"resources.claims": nil, "os": nil, "schedulingGates": nil, "activeDeadlineSeconds": nil,
		"ephemeralContainers": nil, "shareProcessNamespace": nil, "hostnameOverride": nil,
		"tolerations[].operator": "Equal", "tolerations[].effect": "NoExecute",
		"topologySpreadConstraints[].whenUnsatisfiable":  "DoNotSchedule",
		"topologySpreadConstraints[].nodeAffinityPolicy": "Honor",
		"topologySpreadConstraints[].nodeTaintsPolicy":   "Honor",
		"topologySpreadConstraints[].matchLabelKeys":     []any{"revision"},
		"securityContext.supplementalGroupsPolicy":       "Strict",
		"securityContext.fsGroupChangePolicy":            "OnRootMismatch",
		"securityContext.seLinuxChangePolicy":            "Recursive",
		"securityContext.seccompProfile.type":            "Localhost",
		"securityContext.appArmorProfile.type":           "Localhost",
		"securityContext.sysctls[].name":                 "kernel.shm_rmid_forced", "hostIPC": nil,
		"resourceClaims": leaves.Apart(first(pod, "resourceClaims"), "name"),
	} {
		set(path, value)
	}
	named(pod["resourceClaims"].([]any), "") //nolint:forcetypeassert // just put there
	expressions("topologySpreadConstraints[].labelSelector")
	const later = "DuringSchedulingIgnoredDuringExecution"
	const required, preferred = ".required" + later, ".preferred" + later
	for _, in := range []string{required + ".nodeSelectorTerms[]", preferred + "[].preference"} {
		expressions("affinity.nodeAffinity" + in)
		set("affinity.nodeAffinity"+in+".matchFields[].operator", "In")
		set("affinity.nodeAffinity"+in+".matchFields[].key", "metadata.name")
	}
	for _, of := range []string{"affinity.podAffinity", "affinity.podAntiAffinity"} {
		for _, in := range []string{required + "[]", preferred + "[].podAffinityTerm"} {
			expressions(of + in + ".labelSelector")
			expressions(of + in + ".namespaceSelector")
			set(of+in+".matchLabelKeys", []any{"revision"})
			set(of+in+".mismatchLabelKeys", []any{"other"})
		}
	}
	fillVolumes(t, pod)
	fillContainers(t, pod)
}

// first is the first element of a list of objects.
func first(in map[string]any, list string) map[string]any {
	return in[list].([]any)[0].(map[string]any) //nolint:forcetypeassert // it was filled
}

func fillVolumes(t *testing.T, pod map[string]any) {
	t.Helper()
	volumes := named(leaves.Apart(first(pod, "volumes"), "name"), "")
	for _, v := range volumes {
		volume := v.(map[string]any) //nolint:forcetypeassert // they are objects
		for source := range volume {
			switch source {
			case "azureDisk":
				put(t, volume, "azureDisk.cachingMode", "None")
				put(t, volume, "azureDisk.kind", "Managed")
				put(t, volume, "azureDisk.diskURI", "/subscriptions/text")
			case "emptyDir":
				put(t, volume, "emptyDir.medium", "Memory")
			case "ephemeral":
				claim := volume["ephemeral"].(map[string]any)["volumeClaimTemplate"] //nolint:forcetypeassert // filled
				claimSpec(t, map[string]any{"of": []any{claim}}, "of")
				put(t, claim, "metadata", map[string]any{
					"labels": map[string]any{"a": "b"}, "annotations": map[string]any{"c": "d"},
				})
			case "downwardAPI":
				fillDownward(t, volume["downwardAPI"].(map[string]any)) //nolint:forcetypeassert // it was filled
			case "fc":
				put(t, volume, "fc.wwids", nil)
			case "flocker":
				put(t, volume, "flocker.datasetUUID", nil)
			case "nfs":
				put(t, volume, "nfs.path", "/text")
			case "quobyte":
				put(t, volume, "quobyte.registry", "text:1")
			case "hostPath":
				put(t, volume, "hostPath.type", "Directory")
			case "image":
				put(t, volume, "image.pullPolicy", "Always")
			case "iscsi":
				put(t, volume, "iscsi.iqn", "iqn.2026-11.org.example:text")
				put(t, volume, "iscsi.initiatorName", "iqn.2026-11.org.example:text")
			case "projected":
				fillProjected(t, volume["projected"].(map[string]any)) //nolint:forcetypeassert // it was filled
			}
		}
	}
	pod["volumes"] = volumes
}

func fillDownward(t *testing.T, in map[string]any) {
	t.Helper()
	items := leaves.Apart(first(in, "items"), "path", "mode", "user")
	for n := range items {
		put(t, items[n], "path", fmt.Sprintf("text%d", n))
		leaves.Put(items[n], "fieldRef", nameField())
		leaves.Put(items[n], "resourceFieldRef.resource", "limits.cpu")
		leaves.Put(items[n], "resourceFieldRef.containerName", "vllm")
	}
	in["items"] = items
}

func nameField() map[string]any {
	return map[string]any{"apiVersion": "v1", "fieldPath": "metadata.name"}
}

func fillProjected(t *testing.T, in map[string]any) {
	t.Helper()
	sources := leaves.Apart(first(in, "sources"))
	for n := range sources {
		for source, v := range sources[n].(map[string]any) { //nolint:forcetypeassert // it was made so
			of := v.(map[string]any) //nolint:forcetypeassert // it was filled
			switch source {
			case "downwardAPI":
				fillDownward(t, of)
			case "configMap", "secret":
				put(t, of, "items[].path", source)
			case "serviceAccountToken":
				put(t, of, "path", source)
				put(t, of, "expirationSeconds", int64(700))
			case "podCertificate":
				put(t, of, "signerName", "example.org/text")
				put(t, of, "keyType", "ED25519")
				put(t, of, "maxExpirationSeconds", int64(3600))
				put(t, of, "userAnnotations", map[string]any{"example.org/a": "b"})
				for _, path := range []string{"keyPath", "certificateChainPath", "credentialBundlePath"} {
					put(t, of, path, path)
				}
			case "clusterTrustBundle":
				put(t, of, "path", source)
				put(t, of, "name", nil)
				put(t, of, "labelSelector.matchExpressions[].operator", "In")
				put(t, of, "signerName", "example.org/text")
			}
		}
	}
	in["sources"] = sources
}

// fillContainers makes a container with everything, and beside it one for each further way to say what only one can.
func fillContainers(t *testing.T, pod map[string]any) {
	t.Helper()
	full := oneEach(t, pod)
	fillBox(t, first(pod, "initContainers"), "init", 7000, "httpGet")
	vllm := full[0].(map[string]any) //nolint:forcetypeassert // it was made so
	vllm["name"], vllm["command"] = "vllm", []any{"vllm", "serve"}
	vllm["args"] = []any{"--max-num-batched-tokens=8192", "--port", "8000"}
	proxy := map[string]any{"name": "proxy", "image": "envoy", "args": []any{"--x"}}
	pod["containers"] = append([]any{proxy}, full...)
}

// oneEach are containers that probe in different ways. The first has all else.
func oneEach(t *testing.T, pod map[string]any) []any {
	t.Helper()
	var out []any
	for _, handler := range []string{"httpGet", "exec", "tcpSocket", "grpc"} {
		box := leaves.Copy(first(pod, "containers")).(map[string]any) //nolint:forcetypeassert // a map stays one
		fillBox(t, box, strings.ToLower(handler), 8000, handler)
		maps.DeleteFunc(box, func(k string, _ any) bool {
			return handler != "httpGet" && k != "lifecycle" && !strings.HasSuffix(k, "Probe") && k != "name" && k != "image"
		})
		out = append(out, box)
	}
	return out
}

func fillBox(t *testing.T, box map[string]any, name string, port int64, handler string) {
	t.Helper()
	for path, value := range map[string]any{
		"name": name, "imagePullPolicy": "IfNotPresent", "terminationMessagePolicy": "File", "restartPolicy": "Always",
		"ports[].hostPort": port, "ports[].containerPort": port, "ports[].protocol": "TCP", "ports[].hostIP": "10.0.0.1",
		"resources.limits": map[string]any{"cpu": "8"}, "resources.requests": map[string]any{"cpu": "4"},
		"resources.claims[].name":      "resourceclaimname",
		"resizePolicy[].resourceName":  "cpu",
		"resizePolicy[].restartPolicy": "NotRequired",
		"env":                          variables(t, box),
		"envFrom":                      leaves.Apart(first(box, "envFrom"), "prefix"),
		"volumeMounts":                 mounts(t, box),
		"volumeDevices[].name":         "persistentvolumeclaim", "volumeDevices[].devicePath": "/dev/text",
		"securityContext.procMount":            "Default",
		"securityContext.capabilities":         map[string]any{"add": []any{"CHOWN"}, "drop": []any{"ALL"}},
		"securityContext.seccompProfile.type":  "Localhost",
		"securityContext.appArmorProfile.type": "Localhost",
		"restartPolicyRules[].action":          "Restart", "restartPolicyRules[].exitCodes.operator": "In",
		"lifecycle.stopSignal": nil,
	} {
		put(t, box, path, value)
	}
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		only(t, box[probe].(map[string]any), handler) //nolint:forcetypeassert // it was filled
		if probe != "readinessProbe" {
			put(t, box, probe+".successThreshold", int64(1))
		} else {
			put(t, box, probe+".terminationGracePeriodSeconds", nil)
		}
	}
	if handler == "grpc" {
		handler = "sleep"
	}
	for _, hook := range []string{"postStart", "preStop"} {
		only(t, box["lifecycle"].(map[string]any)[hook].(map[string]any), handler) //nolint:forcetypeassert // it was filled
	}
}

// only keeps one of the ways to probe.
func only(t *testing.T, in map[string]any, handler string) {
	t.Helper()
	for _, other := range []string{"exec", "httpGet", "tcpSocket", "grpc", "sleep"} {
		if other != handler {
			delete(in, other)
		}
	}
	if handler == "httpGet" {
		put(t, in, "httpGet.scheme", "HTTP")
		put(t, in, "httpGet.path", "/health")
	}
}

func variables(t *testing.T, box map[string]any) []any {
	t.Helper()
	of := first(box, "env")["valueFrom"].(map[string]any) //nolint:forcetypeassert // it was filled
	put(t, of, "fieldRef", nameField())
	put(t, of, "resourceFieldRef.resource", "limits.cpu")
	put(t, of, "resourceFieldRef.containerName", "vllm")
	put(t, of, "fileKeyRef.volumeName", "emptydir")
	out := []any{map[string]any{"name": "value", "value": "text"}}
	for n, from := range leaves.Apart(of) {
		out = append(out, map[string]any{"name": fmt.Sprintf("from%d", n), "valueFrom": from})
	}
	return out
}

func mounts(t *testing.T, box map[string]any) []any {
	t.Helper()
	mount := first(box, "volumeMounts")
	put(t, mount, "recursiveReadOnly", "Disabled")
	put(t, mount, "mountPropagation", "None")
	var out []any
	for n, sub := range []string{"subPath", "subPathExpr"} {
		one := leaves.Copy(mount).(map[string]any) //nolint:forcetypeassert // a map stays one
		put(t, one, "name", "emptydir")
		put(t, one, "mountPath", fmt.Sprintf("/text%d", n))
		put(t, one, map[string]string{"subPath": "subPathExpr", "subPathExpr": "subPath"}[sub], nil)
		out = append(out, one)
	}
	return out
}
