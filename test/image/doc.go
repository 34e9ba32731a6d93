// Package image checks the Dockerfile without a container engine: its paths exist, and its build command makes a static
// program that runs.
package image
