package apply

import (
	"context"
	"errors"

	"github.com/writ-dev/writ/apply/converge"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// Progress is news about one object that is waited for.
type Progress struct {
	Key    object.Key
	Status converge.Status
	// Event is set when the news is an Event about the object or something
	// below it.
	Event object.Object
}

// Wait watches until every object is done, and calls progress, from this
// goroutine, for every change of an object's status and every event about it.
// Objects still moving when ctx ends are named in the error; an object that
// stays stuck does not end the wait, since it may be helped from outside.
func Wait(ctx context.Context, c api.Client, objects []object.Key, progress func(Progress)) error {
	return errors.New("not yet")
}
