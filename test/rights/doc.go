// Package rights grants the bot what vllm-medic rbac prints, on a real API server, and looks whether it can do what it
// must with that, and no more.
package rights
