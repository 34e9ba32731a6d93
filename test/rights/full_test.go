package rights

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// fullSpec is the spec of an object that an API server takes, with as many fields as one may have at the same time.
func fullSpec(t *testing.T, kind string) map[string]any {
	t.Helper()
	text := map[string]string{
		"Deployment": `
replicas: 2
minReadySeconds: 5
progressDeadlineSeconds: 700
revisionHistoryLimit: 5
strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
selector: {matchLabels: {app: x}}
` + template,
		"StatefulSet": `
replicas: 2
minReadySeconds: 5
revisionHistoryLimit: 5
podManagementPolicy: Parallel
serviceName: x
updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}
persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}
ordinals: {start: 1}
selector: {matchLabels: {app: x}}
volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
` + template,
		"HorizontalPodAutoscaler": `
minReplicas: 2
maxReplicas: 6
scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: deployed}
metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
  - type: Pods
    pods: {metric: {name: waiting, selector: {matchLabels: {a: b}}}, target: {type: AverageValue, averageValue: "5"}}
behavior:
  scaleUp: {stabilizationWindowSeconds: 10, selectPolicy: Max, policies: [{type: Pods, value: 1, periodSeconds: 60}]}
  scaleDown: {stabilizationWindowSeconds: 20, selectPolicy: Min, policies: [{type: Percent, value: 50,
    periodSeconds: 30}]}
`,
	}[kind]
	var out map[string]any
	must(t, yaml.Unmarshal([]byte(text), &out))
	whole(out)
	return out
}

// whole makes whole numbers of JSON's.
func whole(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			x[k] = whole(x[k])
		}
	case []any:
		for i := range x {
			x[i] = whole(x[i])
		}
	case float64:
		return int64(x)
	}
	return v
}

const template = `
template:
  metadata: {labels: {app: x}, annotations: {e: f}}
  spec:
    activeDeadlineSeconds: null
    affinity:
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: gpu, operator: In, values: [h100]}]}]
      podAntiAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 5, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: x}}}}
    automountServiceAccountToken: false
    dnsConfig: {nameservers: [10.0.0.10], searches: [a.b], options: [{name: ndots, value: "2"}]}
    dnsPolicy: ClusterFirst
    enableServiceLinks: false
    hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]
    hostname: x
    imagePullSecrets: [{name: pull}]
    nodeSelector: {pool: gpu}
    priorityClassName: high
    restartPolicy: Always
    runtimeClassName: nvidia
    schedulerName: mine
    securityContext: {runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, supplementalGroups: [5],
      sysctls: [{name: net.core.somaxconn, value: "5"}], seccompProfile: {type: RuntimeDefault}}
    serviceAccountName: models
    shareProcessNamespace: true
    subdomain: sub
    terminationGracePeriodSeconds: 40
    tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}]
    topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway,
      labelSelector: {matchLabels: {app: x}}}]
    volumes:
      - {name: cache, emptyDir: {medium: Memory, sizeLimit: 1Gi}}
      - {name: config, configMap: {name: c, defaultMode: 420, optional: true, items: [{key: k, path: p}]}}
      - {name: secret, secret: {secretName: s, optional: true}}
      - {name: models, persistentVolumeClaim: {claimName: m, readOnly: true}}
    initContainers:
      - {name: load, image: loader, command: [load], args: [m], volumeMounts: [{name: models, mountPath: /m}]}
    containers:
      - {name: proxy, image: envoy, args: [--x]}
      - name: vllm
        image: vllm/vllm-openai:v0.29.0
        imagePullPolicy: IfNotPresent
        command: [vllm, serve, m]
        args: [--max-num-batched-tokens=8192, --port, "8000"]
        env: [{name: A, value: b}, {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        envFrom: [{configMapRef: {name: c, optional: true}}]
        ports: [{name: http, containerPort: 8000, protocol: TCP}]
        resources: {limits: {cpu: "8", memory: 64Gi}, requests: {cpu: "4", memory: 32Gi}}
        livenessProbe: {httpGet: {path: /health, port: 8000, scheme: HTTP}, periodSeconds: 10, failureThreshold: 3}
        readinessProbe: {httpGet: {path: /health, port: 8000}, initialDelaySeconds: 5, timeoutSeconds: 2}
        startupProbe: {tcpSocket: {port: 8000}, failureThreshold: 60}
        lifecycle: {preStop: {exec: {command: [sleep, "5"]}}}
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
        stdin: true
        tty: true
        terminationMessagePath: /t
        terminationMessagePolicy: File
        volumeMounts: [{name: cache, mountPath: /c, readOnly: false}, {name: config, mountPath: /d, subPath: p}]
        workingDir: /w
`
