package server

import (
	"fmt"

	"github.com/writ-dev/writ/cluster/controller"
	"github.com/writ-dev/writ/cluster/controllers/clusterrole"
	"github.com/writ-dev/writ/cluster/controllers/dependency"
	"github.com/writ-dev/writ/cluster/controllers/deployment"
	"github.com/writ-dev/writ/cluster/controllers/endpoint"
	"github.com/writ-dev/writ/cluster/controllers/gc"
	"github.com/writ-dev/writ/cluster/controllers/job"
	"github.com/writ-dev/writ/cluster/controllers/namespace"
	"github.com/writ-dev/writ/cluster/controllers/node"
	"github.com/writ-dev/writ/cluster/controllers/replicaset"
	"github.com/writ-dev/writ/cluster/scheduler"
)

// controllers makes every loop of a control plane. The order means nothing:
// they meet only in the store.
func controllers(env controller.Env) ([]*controller.Controller, error) {
	var loops []*controller.Controller
	for _, make := range []func(controller.Env) (*controller.Controller, error){
		deployment.New,
		replicaset.New,
		job.New,
		endpoint.New,
		gc.New,
		namespace.New,
		clusterrole.New,
		dependency.New,
		scheduler.New,
		func(env controller.Env) (*controller.Controller, error) {
			return node.New(node.Options{Env: env})
		},
	} {
		c, err := make(env)
		if err != nil {
			return nil, fmt.Errorf("make controllers: %w", err)
		}
		loops = append(loops, c)
	}
	return loops, nil
}
