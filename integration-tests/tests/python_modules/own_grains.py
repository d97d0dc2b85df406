def own():
    return {"own_grain": {"deep": [1, 2]}}
