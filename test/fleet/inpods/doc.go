// Package inpods lets a simulated fleet run in the pods of a simulated cluster: the two have the same pods, restarts
// and readiness at every moment. It has no clock; whoever lets time pass in the fleet tells the cluster to act.
package inpods
