// Package stopped tells errors of servers that are due to the end of a context.
package stopped

import (
	"context"
	"errors"
	"fmt"
)

// Error returns err, which wraps ctx.Err() if the context has ended: a driver that
// finds its connection dropped for that may speak of the connection alone. It
// returns nil for nil.
func Error(ctx context.Context, err error) error {
	ended := ctx.Err()
	if err == nil || ended == nil || errors.Is(err, ended) {
		return err
	}
	return fmt.Errorf("%w: %w", ended, err)
}
