FROM app_log
