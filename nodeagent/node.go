package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Heartbeat: the lease is renewed every third of its duration or so.
const (
	leaseNamespace = "kube-node-lease"
	leaseRenewal   = 10 * time.Second
	leaseSeconds   = 40
)

// lastWords bounds what an agent that ends still writes.
const lastWords = time.Second

// node keeps the Node object and its Lease.
type node struct {
	o    Options
	logs net.Addr
	log  *slog.Logger
}

// address is where the server reaches this agent.
func (n *node) address() string {
	host, _, err := net.SplitHostPort(n.logs.String())
	if err != nil {
		return ""
	}
	return host
}

// register creates or updates the Node, and tries until it is there.
func (n *node) register(ctx context.Context) error {
	pause := minPause
	for {
		err := n.put(ctx)
		if err == nil {
			err = n.renew(ctx)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err):
			return fmt.Errorf("register node: %w", err)
		}
		n.log.Warn("register node", "error", err.Error(), "pause", pause.String())
		sleep(ctx, pause)
		pause = min(2*pause, maxPause)
	}
}

func (n *node) put(ctx context.Context) error {
	want, err := n.object()
	if err != nil {
		return err
	}
	o, err := api.Encode(api.Node, want)
	if err != nil {
		return err
	}
	_, err = n.o.Client.Create(ctx, o)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	// An earlier agent of this name has been here: only the status is new.
	_, err = n.o.Client.UpdateStatus(ctx, o)
	return err
}

// object is the Node as this agent sees it.
func (n *node) object() (*corev1.Node, error) {
	_, port, err := net.SplitHostPort(n.logs.String())
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return nil, err
	}
	machine, err := inspect()
	if err != nil {
		return nil, fmt.Errorf("inspect machine: %w", err)
	}
	now := metav1.Now()
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(machine.memory, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(int64(n.o.MaxPods), resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.o.Name, Labels: map[string]string{
			corev1.LabelHostname: n.o.Name, corev1.LabelOSStable: goruntime.GOOS, corev1.LabelArchStable: goruntime.GOARCH,
		}},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: n.address()},
				{Type: corev1.NodeHostName, Address: n.o.Name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(number)}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "AgentReady",
				Message: "the node agent runs", LastHeartbeatTime: now, LastTransitionTime: now,
			}},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: goruntime.GOOS, Architecture: goruntime.GOARCH,
				KernelVersion: machine.kernel, MachineID: "", KubeletVersion: version(),
				ContainerRuntimeVersion: "writ-sandbox://" + version(),
			},
		},
	}, nil
}

// version is the module's.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// heartbeat renews the lease until ctx ends. Should the cluster have declared
// the node lost, or lost it, the status says that it is there again.
func (n *node) heartbeat(ctx context.Context) error {
	tick := time.NewTicker(leaseRenewal)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			n.leave(ctx)
			return ctx.Err()
		}
		if err := errors.Join(n.renew(ctx), n.revive(ctx)); err != nil && ctx.Err() == nil {
			n.log.Warn("renew node lease", "error", err.Error())
		}
	}
}

// leave says that the agent ends, so that nothing more is sent here. It does
// not hold the end up: without it, the cluster notices the silence.
func (n *node) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	live, err := get[corev1.Node](ctx, n.o.Client, object.Key{Kind: api.Node.Kind, Name: n.o.Name})
	if err != nil {
		return
	}
	next := live.DeepCopy()
	for i := range next.Status.Conditions {
		if c := &next.Status.Conditions[i]; c.Type == corev1.NodeReady {
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, "AgentStopped", "the node agent has ended, and its pods with it"
			c.LastHeartbeatTime, c.LastTransitionTime = metav1.Now(), metav1.Now()
		}
	}
	o, err := api.Encode(api.Node, next)
	if err == nil {
		_, err = n.o.Client.UpdateStatus(ctx, o)
	}
	if err != nil {
		n.log.Debug("say that the node leaves", "error", err.Error())
	}
}

func (n *node) renew(ctx context.Context) error {
	seconds, now := int32(leaseSeconds), metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: leaseNamespace, Name: n.o.Name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &n.o.Name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	o, err := api.Encode(api.Lease, lease)
	if err != nil {
		return err
	}
	_, err = n.o.Client.Update(ctx, o)
	if apierrors.IsNotFound(err) {
		_, err = n.o.Client.Create(ctx, o)
	}
	return err
}

// revive writes the status again if the Node is gone or not ready.
func (n *node) revive(ctx context.Context) error {
	live, err := get[corev1.Node](ctx, n.o.Client, object.Key{Kind: api.Node.Kind, Name: n.o.Name})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil {
		for _, c := range live.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
	}
	return n.put(ctx)
}

// machine is what a node reports of the computer it is.
type machine struct {
	// memory is in bytes.
	memory int64
	kernel string
}
