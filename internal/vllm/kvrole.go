package vllm

import "encoding/json"

// kvTransferConfig is the argument whose value is the JSON of a KVTransferConfig (vllm/config/kv_transfer.py).
const kvTransferConfig = "kv-transfer-config"

// KVRole is the engine's role in the transfer of KV blocks: kv_producer, kv_consumer or kv_both; empty where there is
// none, or where it is not certain.
func (c *CommandLine) KVRole() string {
	if c.Unclear() != nil || c.Has(kvTransferConfig+".kv_role") {
		return "" // dots in the name set parts of the JSON
	}
	last, count, err := c.Last(kvTransferConfig)
	if err != nil || count == 0 {
		return ""
	}
	var config struct {
		Role string `json:"kv_role"`
	}
	if json.Unmarshal([]byte(last.Value), &config) != nil {
		return ""
	}
	return config.Role
}
