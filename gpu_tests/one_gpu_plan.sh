#!/usr/bin/env bash
# What one GPU can show in 8 minutes: kernels first, then what is only on a device, then ranks as far as they go.
# Usage: gpu_tests/one_gpu_plan.sh [FOLDER FOR LOGS]
set -uo pipefail
cd "$(dirname "$0")/.."
logs=${1:-packproof-report}
mkdir -p "$logs"

packproof doctor --format json > "$logs/doctor.json"
status=0
# One process: workers would share the device. A limit for the whole step, so that later steps get their turn.
run() {
  local name=$1 seconds=$2
  shift 2
  timeout "$seconds" python -m pytest -n 0 -q -rs --durations=10 --junitxml "$logs/$name.xml" "$@" > "$logs/$name.log" 2>&1
  local code=$?
  tail -n 1 "$logs/$name.log"
  if [ "$code" -ne 0 ]; then
    status=$code
  fi
}
run kernels 210 gpu_tests -m one_gpu --records "$logs/records"
# Within their tolerances kernels may still drift; PACKPROOF_HISTORY names a file that outlives this run.
timeout 60 python -m gpu_tests.history "$logs/records" "${PACKPROOF_HISTORY:-$logs/history.jsonl}" || status=$?
run ranks 110 gpu_tests/test_attention_on_ranks.py gpu_tests/test_training_on_ranks.py
run pool 50 gpu_tests/test_worker_pool.py gpu_tests/test_levels.py
exit "$status"
