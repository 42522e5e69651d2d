# SPDX-License-Identifier: GPL-2.0-only
"""report.py RESULT SECONDS THROTTLE: adds the time to the demonstration's result.json, prints it, and the verdict.

THROTTLE is what the disk of tier 0 is made to give, in MB/s. Exit code 1 if something that the demonstration has to
show did not hold; 2 if the bare disk was so far from its throttle that the rates say nothing.
"""
import json
import sys

MIN_OF_RAW = 0.9
MIN_OF_THROTTLE = 0.5
MAX_SECONDS = 360


def main():
    path, seconds, throttle = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(path, encoding="ascii") as file:
        result = json.load(file)
    result["seconds"] = seconds
    with open(path, "w", encoding="ascii") as file:
        json.dump(result, file, indent=1)
        file.write("\n")

    print("\n== Before and after relocation, all eight jobs at work\n\n   job   before MB/s   after MB/s")
    for job in result["jobs"]:
        gain = job["after_MBps"] / job["before_MBps"] if job["before_MBps"] else float("inf")
        print(f"   {job['job']:3}   {job['before_MBps']:11.1f}   {job['after_MBps']:10.1f}   x {gain:.1f}")
    total = [sum(job[key] for job in result["jobs"]) for key in ("before_MBps", "after_MBps")]
    print(f"   all   {total[0]:11.1f}   {total[1]:10.1f}   x {total[1] / total[0] if total[0] else 0:.1f}\n")
    moves = result["moves"]
    print(f"   moves: {moves['up']} up, {moves['down']} down, {moves['failed']} not done\n")

    facts = [
        (f"job 1 lies wholly on tier 0 ({result['job1_tier0_share']:.0%})", result["job1_tier0_share"] == 1),
        (f"no byte is wrong ({result['verify_errors']} errors)", result["verify_errors"] == 0),
    ]
    rates = [
        (f"job 1 alone writes {result['job1_alone_MBps']:.1f} MB/s, at least {MIN_OF_RAW:.0%} of the bare device's "
         f"{result['tier0_raw_MBps']:.1f}", result["job1_alone_MBps"] >= MIN_OF_RAW * result["tier0_raw_MBps"]),
        (f"it took {seconds} s, less than {MAX_SECONDS}", seconds < MAX_SECONDS),
    ]
    too_busy = result["tier0_raw_MBps"] < MIN_OF_THROTTLE * throttle
    bars = facts if too_busy else facts + rates
    for what, holds in bars:
        print(f"   {'yes' if holds else 'NO ':5}{what}")
    if not all(holds for _, holds in bars):
        print("\ndemo: FAILED; what says NO above did not hold")
        sys.exit(1)
    if too_busy:
        print(f"\ndemo: this machine was too busy to say anything of rates: the bare disk of tier 0 wrote "
              f"{result['tier0_raw_MBps']:.1f} MB/s instead of {throttle}")
        sys.exit(2)
    print("\ndemo: it works")


if __name__ == "__main__":
    main()
