// Starts, watches, pauses and resumes a job of searchflow, and reads its result:
// go run . start FILE URL_COLUMN | watch | pause | resume | result
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/temporal"
)

// One fixed id for a job: it runs once at a time, and a new start of an ended job buys only what is new.
const job, taskQueue = "companies", "own-worker"

// progress has the fields of the query that this program reads; docs/reference/workflows.md has all.
type progress struct {
	Phase      string `json:"phase"`
	Message    string `json:"message"`
	Rows       int    `json:"rows"`
	RowsDone   int    `json:"rowsDone"`
	CostMicros int64  `json:"costMicros"`
}

func main() {
	args := append(os.Args[1:], "", "", "")
	// TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY and the profiles of the temporal command.
	c, err := client.Dial(envconfig.MustLoadDefaultClientOptions())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := run(context.Background(), c, args[0], args[1], args[2]); err != nil {
		var failure *temporal.ApplicationError
		if errors.As(err, &failure) {
			log.Fatalf("%s: %s", failure.Type(), failure.Message())
		}
		log.Fatal(err)
	}
}

func run(ctx context.Context, c client.Client, command, file, urlColumn string) error {
	switch command {
	case "start":
		// A path is one of the worker's machine; a relative path is below the worker's folder.
		input := map[string]any{"input": file, "urlColumn": urlColumn, "maxCostDollars": 5}
		use := enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
		start := client.StartWorkflowOptions{ID: job, TaskQueue: taskQueue, WorkflowIDConflictPolicy: use}
		_, err := c.ExecuteWorkflow(ctx, start, "enrichCsv", input)
		return err
	case "watch":
		for now := (progress{Phase: "running"}); now.Phase == "running" || now.Phase == "planning"; time.Sleep(time.Second) {
			answer, err := c.QueryWorkflow(ctx, job, "", "progress")
			if err != nil {
				return err
			}
			if err := answer.Get(&now); err != nil {
				return err
			}
			fmt.Printf("%s: %d of %d rows, $%.4f %s\n", now.Phase, now.RowsDone, now.Rows, float64(now.CostMicros)/1e6, now.Message)
		}
		return nil
	case "pause", "resume":
		return c.SignalWorkflow(ctx, job, "", command, nil)
	case "result":
		var summary map[string]any
		err := c.GetWorkflow(ctx, job, "").Get(ctx, &summary)
		fmt.Println(summary)
		return err
	}
	return errors.New("usage: go run . start FILE URL_COLUMN | watch | pause | resume | result")
}
