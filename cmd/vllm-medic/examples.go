package main

import "strings"

// examples are what the help of a command shows that it can be called like, by the command's path. Each line is a whole
// command; what follows " #" says what for.
func examples() map[string][]string {
	return map[string][]string{
		"": {
			"vllm-medic diagnose --prometheus http://127.0.0.1:9090   # what is wrong now; read-only",
			"vllm-medic sandbox                                       # the whole loop, simulated",
			"vllm-medic init --prometheus http://127.0.0.1:9090 -o medic.yaml",
		},
		"serve":   {"vllm-medic serve --config medic.yaml", "vllm-medic serve --config medic.yaml --dry-run"},
		"sandbox": {"vllm-medic sandbox", "vllm-medic sandbox --script   # plays it in the terminal"},
		"init": {
			"vllm-medic init --prometheus http://127.0.0.1:9090 -o medic.yaml",
			"vllm-medic init --namespace llm",
		},
		"check": {"vllm-medic check --config medic.yaml", "vllm-medic check --config medic.yaml --live"},
		"diagnose": {
			"vllm-medic diagnose --prometheus http://127.0.0.1:9090",
			"vllm-medic diagnose --prometheus http://127.0.0.1:9090 llm/llama-70b --all",
			"vllm-medic diagnose --prometheus http://127.0.0.1:9090 --report health.html",
			"vllm-medic diagnose --config medic.yaml --pool llama-70b",
		},
		"test":   {"vllm-medic test playbooks/tests/*.yaml", "vllm-medic test slow.yaml --run queue --series"},
		"replay": {"vllm-medic replay --config new.yaml --since 30d", "vllm-medic replay inc-7kq2mz4a --config new.yaml"},
		"drill": {
			"vllm-medic drill --list",
			"vllm-medic drill queue --to https://medic.example.com --pool llama-70b --kube",
		},
		"incidents": {"vllm-medic incidents list", "vllm-medic incidents show inc-7kq2mz4a"},
		"incidents list": {
			"vllm-medic incidents list",
			"vllm-medic incidents list --state all --pool llama-70b",
			"vllm-medic incidents list --config medic.yaml   # also when the bot is down",
		},
		"incidents show": {
			"vllm-medic incidents show inc-7kq2mz4a",
			"vllm-medic incidents show inc-7kq2mz4a --all",
			"vllm-medic incidents show inc-7kq2mz4a --config medic.yaml   # also when the bot is down",
		},
		"incidents approve": {
			"vllm-medic incidents approve inc-7kq2mz4a p1-s1   # shows the plan and asks",
			"vllm-medic incidents approve inc-7kq2mz4a p1-s1 --digest 0a1b2c3d4e5f --reason expected",
		},
		"incidents deny": {
			"vllm-medic incidents deny inc-7kq2mz4a p1-s1",
			"vllm-medic incidents deny inc-7kq2mz4a --snooze 2h --reason load-test",
		},
		"incidents narrow": {"vllm-medic incidents narrow inc-7kq2mz4a p1-s2 3   # 3 replicas instead of 4"},
		"incidents undo":   {"vllm-medic incidents undo inc-7kq2mz4a p1-s1 --reason worse"},
		"incidents keep":   {"vllm-medic incidents keep inc-7kq2mz4a p1-s1"},
		"incidents ask":    {"vllm-medic incidents ask inc-7kq2mz4a"},
		"incidents ack":    {"vllm-medic incidents ack inc-7kq2mz4a --kube --server https://medic.example.com"},
		"incidents abort":  {"vllm-medic incidents abort inc-7kq2mz4a --reason wrong-pool"},
		"incidents close":  {"vllm-medic incidents close inc-7kq2mz4a --reason load-test"},
		"report": {
			"vllm-medic report --since 30d",
			"vllm-medic report --config medic.yaml --pool llama-70b --until 2026-11-23",
		},
		"audit": {"vllm-medic audit verify --config medic.yaml", "vllm-medic audit export --config medic.yaml"},
		"audit verify": {
			"vllm-medic audit verify --config medic.yaml",
			"vllm-medic audit verify inc-7kq2mz4a --config medic.yaml",
		},
		"audit export": {"vllm-medic audit export --config medic.yaml > journal.jsonl"},
		"pause":        {"vllm-medic pause --reason maintenance", "vllm-medic pause --pool llama-70b --reason load-test"},
		"resume":       {"vllm-medic resume", "vllm-medic resume --pool llama-70b"},
		"rbac":         {"vllm-medic rbac --config medic.yaml > rbac.yaml"},
		"support-bundle": {
			"vllm-medic support-bundle --config medic.yaml -o bundle.tar.gz",
			"vllm-medic support-bundle --config medic.yaml -o - --incidents 5 > bundle.tar.gz",
		},
		"test-alert": {
			"vllm-medic test-alert --alertmanager http://127.0.0.1:9093 --label namespace=llm",
		},
		"version":    {"vllm-medic version", "vllm-medic version -o json"},
		"completion": {"vllm-medic completion bash > /etc/bash_completion.d/vllm-medic"},
		"help":       {"vllm-medic help incidents show"},
	}
}

// exampleOf is the example of a command as cobra has it; empty where there is none.
func exampleOf(path string) string {
	lines := examples()[path]
	if len(lines) == 0 {
		return ""
	}
	return "  " + strings.Join(lines, "\n  ")
}
