// Package workloads makes the objects of a kubeapi.Server act: it is the Deployment and ReplicaSet controllers, the
// scheduler, the kubelets, the autoscaler and the garbage collector of the sandbox in one, after the documented
// behavior of Kubernetes' own. What runs in the pods is the caller's Fleet: it is told of each run and says how it is.
//
// There is no hidden time: Step brings everything to rest as of Options.Now, so that a test or a simulator turns the
// clock itself, and Run calls Step on a machine's clock. What it leaves out: changing the number of replicas in the
// middle of a rollout does not spread them over old and new pods in proportion, pods are not evicted or preempted, and
// no controller adopts what it did not make.
package workloads
