package main

import "strings"

// own are the matchers of the bot's own metrics: several bots in one Prometheus are jobs.
const own = `{job=~"$job"}`

// ownAlerts are those of the rules on the bot itself that fire. One of them says that there is no bot, so it has no
// job.
const ownAlerts = `ALERTS{alertstate="firing",alertname=~"VllmMedic.+"}`

// counted is a metric that every replica reads from the one store: all of them say the same, so the highest counts.
func counted(metric string, labels ...string) string {
	if len(labels) == 0 {
		return "max by (job) (" + metric + own + ")"
	}
	return "max by (job, " + labels[0] + ") (" + metric + own + ")"
}

// perSecond is the rate of a counter that each replica has of its own.
func perSecond(metric, label string) string {
	return "sum by (" + label + ") (rate(" + metric + own + "[$__rate_interval]))"
}

// process is a metric that every program in Go has, of the bot only.
func process(expr string) string { return expr + " and on (job, instance) vllm_medic_store_up" }

// bot is the dashboard of vllm-medic itself.
func bot() dashboard {
	d := board("vllm-medic-bot", "vllm-medic",
		"Whether vllm-medic receives alerts, reaches what it needs, and gets through its work.")
	d.Templating.List = []variable{chooser(), choice("job", "Bot", "vllm_medic_store_up", "job"), ofPool()}
	d.Annotations.List = append([]annotation{
		marks("Alerts on the bot", "orange", ownAlerts, "{{alertname}}", "", "severity"),
	}, incidentMarks(`job=~"$job",`)...)
	d.Panels = laid(health(), incidents(), intake(), slack(), others(), inside())
	return d
}

// perHour is by how much a counter of the store rose in an hour. All replicas show the same, so the highest counts.
func perHour(metric, label string, all ...string) string {
	return "sum by (" + label + ") (max by (" + strings.Join(append([]string{"job"}, all...), ", ") + ") (increase(" +
		metric + own + "[1h])))"
}

// median is the middle of a histogram of the store, over a week.
func median(metric string) string {
	return "histogram_quantile(0.5, max by (le) (increase(" + metric + "_bucket" + own + "[7d])))"
}

// happened marks when a counter of the store rose, whatever the distance between two points is.
func happened(name, color, metric, matchers, by, title string) annotation {
	return marks(name, color, "max by ("+by+") (increase("+metric+"{"+matchers+"}[$__rate_interval]))", title, name, by)
}

// incidentMarks are what the bot did, by pool where its metrics say so.
func incidentMarks(matchers string) []annotation {
	return []annotation{
		happened("Incident opened", "red", "vllm_medic_incidents_opened_total", matchers+`pool=~"$pool"`, "pool", "{{pool}}"),
		happened("Incident closed", "green", "vllm_medic_incidents_closed_total", matchers+`pool=~"$pool"`,
			"pool, diagnosis", "{{pool}}: {{diagnosis}}"),
		happened("Changed by vllm-medic", "purple", "vllm_medic_writes_total", matchers+`result="applied"`,
			"knob, op", "{{op}} {{knob}}"),
	}
}

// ofPool chooses whose incidents are marked.
func ofPool() variable {
	return choice("pool", "Incidents of", "vllm_medic_incidents_opened_total", "pool")
}

func health() row {
	up := map[string]string{"0": "down", "1": "up"}
	return row{title: "Health", width: 4, height: 4, charts: []chart{
		{
			title: "Store", stat: true, unit: "short", words: up, queries: []query{{"min(vllm_medic_store_up" + own + ")", ""}},
			description: "Whether the store takes commits. /readyz of the bot says why it doesn't.",
		},
		{
			title: "Slack", stat: true, unit: "short", words: up, queries: []query{{"min(vllm_medic_slack_up" + own + ")", ""}},
			description: "Whether Slack answers and clicks arrive. /readyz says the next step. No data without Slack.",
		},
		{
			title: "Playbooks", stat: true, unit: "short", words: map[string]string{"0": "invalid", "1": "active"},
			queries:     []query{{"min(vllm_medic_playbooks_reload_successful" + own + ")", ""}},
			description: "Invalid: the last valid ones stay active; the log has each error with its position.",
		},
		{
			title: "Open incidents", stat: true, unit: "short",
			queries:     []query{{"sum(max by (job, state) (vllm_medic_incidents_open" + own + "))", ""}},
			description: "Without drills.",
		},
		{
			title: "Oldest waiting delivery", stat: true, unit: "s", limit: 60,
			queries:     []query{{"max(vllm_medic_deliveries_oldest_waiting_seconds" + own + ")", ""}},
			description: "Above a minute: the log says which system doesn't respond.",
		},
		{
			title: "Pauses", stat: true, unit: "short", calm: true,
			queries:     []query{{"max(vllm_medic_pauses" + own + ")", ""}},
			description: "While one is in effect, nothing is changed in its scope.",
		},
	}}
}

func incidents() row {
	return row{title: "Incidents", width: 8, height: 8, charts: []chart{
		{
			title: "Open incidents by state", unit: "short", stacked: true, runbook: "states.md",
			queries:     []query{{counted("vllm_medic_incidents_open", "state"), "{{state}}"}},
			description: "Deciding for a long time: no one responds.",
		},
		{
			title: "Opened in an hour, by pool", unit: "short",
			queries:     []query{{perHour("vllm_medic_incidents_opened_total", "pool", "pool"), "{{pool}}"}},
			description: "none: alerts that lead to no pool.",
		},
		{
			title: "Closed in an hour, by diagnosis", unit: "short",
			queries: []query{{
				perHour("vllm_medic_incidents_closed_total", "diagnosis", "pool", "diagnosis"), "{{diagnosis}}",
			}},
			description: "none: no cause was found. vllm-medic incidents show says which readings were missing.",
		},
		{
			title: "Decisions in an hour", unit: "short",
			queries: []query{{
				perHour("vllm_medic_decisions_total", "decision, way", "decision", "way"), "{{decision}} {{way}}",
			}},
			description: "expired: no one sees the requests, or too few people may approve.",
		},
		{
			title: "Steps refused in an hour, the five most frequent reasons", unit: "short", runbook: "faq.md",
			queries: []query{{
				"topk(5, " + perHour("vllm_medic_step_refusals_total", "reason", "stage", "reason") + ")", "{{reason}}",
			}},
			description: "rights: a permission is missing. budget: something has to be fixed for good.",
		},
		{
			title: "Changes in an hour, by result", unit: "short",
			queries: []query{{
				perHour("vllm_medic_writes_total", "result", "knob", "op", "result"), "{{result}}",
			}},
			description: "drift: someone else changed the object first. unknown: it may have taken effect. See the " +
				"incidents' threads.",
		},
		{
			title: "Verdicts in an hour", unit: "short",
			queries: []query{{perHour("vllm_medic_verdicts_total", "verdict", "verdict"), "{{verdict}}"}},
			description: "What the verification of the changes found. worse or unchanged grow: vllm-medic report says which " +
				"steps don't help.",
		},
		{
			title: "Median time from the alert, over a week", unit: "s",
			queries: []query{
				{median("vllm_medic_incident_time_to_message_seconds"), "to the message"},
				{median("vllm_medic_incident_time_to_diagnosis_seconds"), "to the diagnosis"},
				{median("vllm_medic_incident_time_to_decision_seconds"), "to the decision"},
				{median("vllm_medic_incident_time_to_recovery_seconds"), "to recovery after a change"},
				{median("vllm_medic_incident_time_to_close_seconds"), "to the end"},
			},
			description: "From the delivery that opened the incident.",
		},
		{
			title: "Drills in the store by result", unit: "short", runbook: "drills.md",
			queries:     []query{{counted("vllm_medic_drills", "result"), "{{result}}"}},
			description: "undecided: no one responded to the exercise either.",
		},
	}}
}

func intake() row {
	return row{title: "Alerts in", width: 8, height: 8, charts: []chart{
		{
			title: "Requests from Alertmanager per second", unit: "short",
			queries:     []query{{perSecond("vllm_medic_webhook_requests_total", "answer"), "{{answer}}"}},
			description: "None for a long time: check that Alertmanager posts here, with the right password.",
		},
		{
			title: "Deliveries waiting", unit: "short",
			queries: []query{
				{counted("vllm_medic_deliveries_waiting"), "waiting"},
				{counted("vllm_medic_deliveries_dead"), "failed permanently"},
			},
			description: "Deliveries that are no part of an incident yet. Those that failed arrive again with Alertmanager's " +
				"repeat_interval.",
		},
		{
			title: "Age of the oldest waiting delivery", unit: "s", limit: 60,
			queries:     []query{{counted("vllm_medic_deliveries_oldest_waiting_seconds"), "age"}},
			description: "0 if none waits.",
		},
	}}
}

func slack() row {
	return row{title: "Messages out", width: 8, height: 8, charts: []chart{
		{
			title: "Messages that are not up to date", unit: "short",
			queries: []query{
				{counted("vllm_medic_messages_waiting"), "waiting"},
				{counted("vllm_medic_messages_given_up"), "need a human"},
				{counted("vllm_medic_incidents_folded"), "in a digest only"},
			},
			description: "Waiting grows: Slack or a receiver is down or limits the bot. The log says the next step for those " +
				"that need a human.",
		},
		{
			title: "Calls to Slack per second", unit: "short", runbook: "slack.md",
			queries:     []query{{perSecond("vllm_medic_slack_calls_total", "result"), "{{result}}"}},
			description: "refused: the log says the next step. rate_limited: give pools channels of their own.",
		},
		{
			title: "Connections to Slack, and clicks that wait", unit: "short",
			queries: []query{
				{"vllm_medic_slack_connections" + own, "connections {{instance}}"},
				{counted("vllm_medic_clicks_waiting"), "clicks waiting"},
			},
			description: "0 connections: clicks and commands don't arrive; decide with vllm-medic incidents.",
		},
	}}
}

func others() row {
	return row{title: "What it asks", width: 12, height: 8, charts: []chart{
		{
			title: "Requests that failed, per second", unit: "short",
			queries: []query{{
				"sum by (service, result) (rate(vllm_medic_client_requests_total" + `{job=~"$job",result!="ok"}` +
					"[$__rate_interval]))", "{{service}} {{result}}",
			}},
			description: "client_error is a normal answer of Kubernetes, such as for an object that doesn't exist. no_answer " +
				"and server_error: the service is down or slow.",
		},
		{
			title: "Time until a service answers, p95", unit: "s",
			queries: []query{{
				"histogram_quantile(0.95, sum by (service, le) (rate(vllm_medic_client_request_duration_seconds_bucket" + own +
					"[$__rate_interval])))", "{{service}}",
			}},
			description: "Above a second for prometheus: its queries are expensive.",
		},
	}}
}

func inside() row {
	return row{title: "Inside", width: 8, height: 8, collapsed: true, charts: []chart{
		{
			title: "Internal errors per second, by part", unit: "short",
			queries:     []query{{perSecond("vllm_medic_panics_total", "part"), "{{part}}"}},
			description: "A bug that was caught; the log has the stack trace.",
		},
		{
			title: "Work that didn't finish in time", unit: "short",
			queries: []query{
				{"vllm_medic_turns_hung" + own, "still running {{instance}}"},
				{"rate(vllm_medic_turns_given_up_total" + own + "[$__rate_interval])", "given up per second {{instance}}"},
			},
			description: "A system that the bot calls doesn't respond and ignores its deadline.",
		},
		{
			title: "Clock ahead of the store", unit: "s", signed: true,
			queries:     []query{{"vllm_medic_store_clock_offset_seconds" + own, "{{instance}}"}},
			description: "Beyond 5 s either way: check time synchronization. 0 on SQLite.",
		},
		{
			title: "Memory", unit: "bytes", queries: []query{{process("process_resident_memory_bytes" + own), "{{instance}}"}},
			description: "Of the process. docs/operations.md says how much to give it.",
		},
		{
			title: "CPU", unit: "short",
			queries:     []query{{process("rate(process_cpu_seconds_total" + own + "[$__rate_interval])"), "{{instance}}"}},
			description: "In cores.",
		},
		{
			title: "Goroutines", unit: "short", queries: []query{{process("go_goroutines" + own), "{{instance}}"}},
			description: "They follow the load. A line that only rises is a leak.",
		},
	}}
}
