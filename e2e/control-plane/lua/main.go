// Command lua runs a health check as Argo CD does: the script is the first argument, the object as JSON the second. It prints the
// status and the message of the table that the script returns.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return errors.New("usage: lua SCRIPT OBJECT")
	}
	var object any
	if err := json.Unmarshal([]byte(os.Args[2]), &object); err != nil {
		return err
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	// The libraries that Argo CD opens (util/lua/lua.go), except os, of which it has only a part.
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage,
		lua.BaseLibName: lua.OpenBase,
		lua.TabLibName:  lua.OpenTable,
	} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", value(state, object))
	if err := state.DoString(os.Args[1]); err != nil {
		return err
	}
	health, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return errors.New("the script returned no table")
	}
	fmt.Printf("%s: %s\n", health.RawGetString("status"), health.RawGetString("message"))
	return nil
}

func value(state *lua.LState, of any) lua.LValue {
	switch of := of.(type) {
	case string:
		return lua.LString(of)
	case float64:
		return lua.LNumber(of)
	case bool:
		return lua.LBool(of)
	case []any:
		list := state.NewTable()
		for _, item := range of {
			list.Append(value(state, item))
		}
		return list
	case map[string]any:
		table := state.NewTable()
		for key, item := range of {
			table.RawSetString(key, value(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}
