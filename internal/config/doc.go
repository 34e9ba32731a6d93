// Package config turns one strict YAML file into a validated Config.
//
// Every mistake is reported at once, each with file:line:col and the path of the setting. Unknown fields, duplicate
// keys, a second document and an empty file are mistakes. Secrets come only by reference to environment variables or
// files; their values never stand in an error.
package config
