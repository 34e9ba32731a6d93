package rights

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/leaves"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// leftOut says, by pattern, why no object that an API server takes has a field of its type, or none beside the others.
// The policies hold these too: actions/admission tries each leaf of the types themselves.
func leftOut() map[string]string {
	const pod, box = `spec\.template\.spec\.`, `spec\.template\.spec\.(containers|initContainers)\[\]\.`
	return map[string]string{
		`metadata\.(selfLink|deletionTimestamp|deletionGracePeriodSeconds)`: "the API server sets it, or nobody",
		`metadata\.generateName`:            "the API server makes a name of it, once",
		`metadata\.managedFields\[\]\..*`:   "changes with every write, see TestWhoHasSetWhichFieldIsAllThatAThiefMayChange",
		`metadata\.ownerReferences\[\]\..*`: "an object without its owner is removed; TestAStolenToken... adds one",
		`status\..*`:                        "has a subresource of its own, which the policies refuse",

		pod + `ephemeralContainers\[\]\..*`:                        "a template has none",
		pod + `activeDeadlineSeconds`:                              "only Jobs have it",
		pod + `schedulingGates\[\]\.name`:                          "not beside nodeName",
		pod + `hostIPC`:                                            "not beside sysctls of the kernel",
		pod + `shareProcessNamespace`:                              "not beside hostPID",
		pod + `hostnameOverride`:                                   "not beside hostNetwork",
		pod + `os\.name`:                                           "forbids the options of the other system",
		pod + `resources\.claims\[\]\..*`:                          "only containers have it",
		pod + `volumes\[\]\.flocker\.datasetUUID`:                  "not beside datasetName",
		pod + `volumes\[\]\.fc\.wwids\[\]`:                         "not beside targetWWNs",
		pod + `volumes\[\]\.projected.*\.clusterTrustBundle\.name`: "not beside signerName",
		pod + `volumes\[\]\.ephemeral\.volumeClaimTemplate\.metadata\.(name|generateName|namespace|selfLink|uid|` +
			`resourceVersion|generation|creationTimestamp|deletion.*|ownerReferences.*|finalizers.*|managedFields.*)`: "" +
			"such a claim has labels and annotations",
		`.*\.dataSource(Ref)?\.(apiGroup|namespace)`:          "a claim is cloned from one of its own group and namespace",
		box + `readinessProbe\.terminationGracePeriodSeconds`: "a readiness probe ends nothing",
		box + `lifecycle\.stopSignal`:                         "needs os.name",

		pod + `initContainers\[\]\..*\.(exec|tcpSocket|grpc|sleep)\..*`: "one way to probe; containers have all",

		pod + `(schedulingGroup|evictionResponders)\b.*`:                                    alpha,
		pod + `volumes\[\]\.(.*\.)?(defaultUser|user)`:                                      alpha,
		pod + `volumes\[\]\.emptyDir\.mode`:                                                 alpha,
		box + `(volumeMounts\[\]\.bindMountOptions\[\]|.*\.(grpc\.mode|httpGet\.protocol))`: alpha,

		`spec\.metrics\[\]\..*\.target\.(value|averageValue|averageUtilization)`: "a target has one value",
	}
}

const alpha = "an alpha field, which the API server drops"

// The full objects have all fields of their types but those that are left out, each for a reason. The table has no row
// too many, as when an alpha field becomes a field.
func TestTheFullObjectsHaveEveryFieldOfTheirTypes(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	c := kube.Cluster(t)
	g, used, unset := guarded{c: c, ns: c.Namespace(t)}, map[string]bool{}, map[string][]string{}
	for _, k := range fullKinds() {
		of := typeOf(k.kind)
		if of == nil {
			continue
		}
		is := leaves.Unset(g.create(t, k.r, object(k.apiVersion, k.kind, k.name, k.spec(t))).Object, of)
		if before, another := unset[k.kind]; another {
			is = slices.DeleteFunc(is, func(path string) bool { return !slices.Contains(before, path) })
		}
		unset[k.kind] = is
	}
	for kind, all := range unset {
		for _, path := range all {
			found := kind == "StatefulSet" && strings.HasPrefix(path, "spec.template.") // a Deployment has all of it
			for pattern := range leftOut() {
				if regexp.MustCompile("^" + pattern + "$").MatchString(path) {
					found, used[pattern] = true, true
				}
			}
			if !found {
				t.Errorf("%s: %s is not in the full object", kind, path)
			}
		}
	}
	for pattern, why := range leftOut() {
		if !used[pattern] {
			t.Errorf("%s is no longer left out (%s)", pattern, why)
		}
	}
}
