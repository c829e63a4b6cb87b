// An anchor: point selects with pgx, as a Go program would write them. Built and run by ../pgx.js:
//
//	bench-pgx URL TEXT ROWS CONNECTIONS CALLERS WARMUP_MS MEASURE_MS
//
// Each caller is a goroutine, which borrows a connection from a pgxpool for each query. pgx prepares the statement at its
// first use. Answers are checked as the JavaScript workloads check them. The result goes to stdout, as JSON.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

type load struct {
	pool    *pgxpool.Pool
	text    string
	rows    uint32
	callers int
}

func main() {
	if err := measure(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure(arguments []string) error {
	if len(arguments) != 7 {
		return fmt.Errorf("see the opening lines of main.go")
	}
	var numbers [5]int
	for i := range numbers {
		number, err := strconv.Atoi(arguments[2+i])
		if err != nil {
			return err
		}
		numbers[i] = number
	}
	rows, connections, callers := numbers[0], numbers[1], numbers[2]
	warmup, measured := numbers[3], numbers[4]

	pool, err := open(arguments[0], connections)
	if err != nil {
		return err
	}
	defer pool.Close()
	l := load{pool: pool, text: arguments[1], rows: uint32(rows), callers: callers}
	if _, err := l.run(time.Duration(warmup) * time.Millisecond); err != nil {
		return err
	}
	// What the warm-up left behind is not to be collected in the measured time.
	runtime.GC()
	cpu := cpuMicros()
	start := time.Now()
	operations, err := l.run(time.Duration(measured) * time.Millisecond)
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	beganAt := float64(start.UnixMicro()) / 1000
	fmt.Printf(`{"operations": %d, "seconds": %.6f, "cpuMicros": %d, "beganAt": %.3f}`+"\n",
		operations, seconds, cpuMicros()-cpu, beganAt)
	return nil
}

// A pool with all of its connections open.
func open(url string, connections int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(connections)
	config.MinConns = int32(connections)
	ctx := context.Background()
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	borrowed := make([]*pgxpool.Conn, connections)
	for i := range borrowed {
		if borrowed[i], err = pool.Acquire(ctx); err != nil {
			return nil, err
		}
	}
	for _, one := range borrowed {
		one.Release()
	}
	return pool, nil
}

// Each caller starts its next query when its last one is answered.
func (l *load) run(duration time.Duration) (int, error) {
	deadline := time.Now().Add(duration)
	operations := make([]int, l.callers)
	errors := make([]error, l.callers)
	var wait sync.WaitGroup
	for caller := range l.callers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			operations[caller], errors[caller] = l.call(caller, deadline)
		}()
	}
	wait.Wait()
	total := 0
	for caller := range l.callers {
		if errors[caller] != nil {
			return 0, errors[caller]
		}
		total += operations[caller]
	}
	return total, nil
}

func (l *load) call(caller int, deadline time.Time) (int, error) {
	ctx := context.Background()
	state := 20_240_101 + uint32(caller)
	for operations := 1; ; operations++ {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		id := int32(1 + state%l.rows)
		var found, n int32
		if err := l.pool.QueryRow(ctx, l.text, id).Scan(&found, &n); err != nil {
			return 0, err
		}
		if found != id || n != id*7+1 {
			return 0, fmt.Errorf("asked for row %d and got %d, %d", id, found, n)
		}
		if !time.Now().Before(deadline) {
			return operations, nil
		}
	}
}

// User and system, of all threads.
func cpuMicros() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	micros := func(t syscall.Timeval) int64 { return int64(t.Sec)*1_000_000 + int64(t.Usec) }
	return micros(usage.Utime) + micros(usage.Stime)
}
