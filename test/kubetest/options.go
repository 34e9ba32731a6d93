package kubetest

// Options are what a test wants of its cluster. The zero value is an API server with RBAC, admission and nothing that
// acts.
type Options struct {
	// Controllers starts kube-controller-manager: Deployments get ReplicaSets and pods, HorizontalPodAutoscalers are
	// obeyed (looked at every second).
	Controllers bool
	// Kwok starts kwok with one node, Node: pods that name it in nodeName become ready at once. There is no scheduler, so
	// pods without a nodeName stay Pending, as they do when no GPU is free.
	Kwok bool
	// AuditLog writes every request to a log, before it is answered; see Cluster.Audit.
	AuditLog bool
	// Users are people with static tokens, besides Admin, Bot and Viewer.
	Users []User
	// ServerArgs are further arguments of kube-apiserver.
	ServerArgs []string
}

// User is somebody with a static token.
type User struct {
	Name   string
	Groups []string
}

// The users that every cluster has. Admin may do everything; the others have no rights beyond discovery and asking for
// their own, until Grant.
const (
	Admin  = "admin"
	Bot    = "bot"
	Viewer = "viewer"
)

// Node is the name of kwok's node.
const Node = "kwok-0"

// token is what a user shows. It is no secret: the server listens on loopback for the length of a test.
func token(user string) string { return "token-of-" + user }

// AllUsers are Admin, Bot and Viewer, and those of the options.
func (o Options) AllUsers() []User {
	return append([]User{{Name: Admin, Groups: []string{"system:masters"}}, {Name: Bot}, {Name: Viewer}}, o.Users...)
}
